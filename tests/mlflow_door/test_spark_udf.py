"""A logged model as a column function of a real Spark session."""

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_breast_cancer

from sepc import SEPClassifier

mlflow = package_or_skip("mlflow")

pytestmark = pytest.mark.filterwarnings("ignore")  # those of MLflow and Spark themselves


@pytest.mark.slow  # Spark and the processes that it starts import everything
def test_spark_udf_decides_as_the_model_does(spark, tmp_path):
    import sepc.mlflow as door

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :4].rename(columns=lambda name: name.replace(" ", "_"))
    classifier = SEPClassifier().fit(X[::2], np.where(y == 0, "malignant", "benign")[::2])
    door.save_model(classifier, tmp_path / "model", X=X)
    columns = "label string, trust double, accepted boolean, cause string"
    score = mlflow.pyfunc.spark_udf(spark, str(tmp_path / "model"), env_manager="local", result_type=columns)
    table = spark.createDataFrame(X).coalesce(1)  # each process that Spark starts imports everything
    answered = table.select(*X.columns, score(*X.columns).alias("decision")).select(*X.columns, "decision.*").toPandas()
    decisions = classifier.decide(answered[list(X.columns)])
    assert len(answered) == len(X)
    for name in ("label", "trust", "accepted"):
        np.testing.assert_array_equal(answered[name], getattr(decisions, name))
