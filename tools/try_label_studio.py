"""Send reviews through a real server of Label Studio and back, and compare with labels given directly.

A server is started on this machine with an empty folder of its own, and stopped at the end. Its API is asked for what
a person does: make a project, import tasks, choose labels, skip a task, export. One task is left alone, one is skipped
and on one two people differ. Queues that learn from the exports must then be, to the last byte, those that learn the
same labels without Label Studio.

    python tools/try_label_studio.py [--label-studio path/to/label-studio | --requirement label-studio==1.23.2]
"""

import argparse
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

import numpy as np
from sklearn.datasets import make_blobs
from try_wheel import run, timed

from sepc import SEPClassifier
from sepc.lifecycle import ReviewQueue
from sepc.lifecycle.reviewing.batch import Review
from sepc.lifecycle.reviewing.label_studio import from_label_studio, label_config, to_label_studio

SECONDS_TO_START, SECONDS_TO_STOP, SECONDS_TO_ANSWER = 300, 20, 60
# Positions in a review, all among the rows to certify.
ALONE, SKIPPED, DISPUTED = 3, 5, 8
QUIET = {
    "COLLECT_ANALYTICS": "false",
    "LATEST_VERSION_CHECK": "false",
    "SENTRY_DSN": "",
    "FRONTEND_SENTRY_DSN": "",
    "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
}

X, KIND = make_blobs(4000, centers=[[0, 0], [4, 0], [2, 4]], random_state=0)
DAYS = [slice(1000, 2500), slice(2500, 4000)]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--label-studio", type=Path, help="the program; else it is installed in a new environment")
    source.add_argument("--requirement", default="label-studio", help="what to install, as pip takes it")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    with tempfile.TemporaryDirectory(prefix="sepc-") as folder:
        program = options.label_studio or timed("install", install, options.requirement, Path(folder) / "venv")
        with server(program, Path(folder) / "data") as studio:
            print(f"Label Studio {studio.version()}")
            timed("two reviews in one project", two_days_in_one_project, studio)
            timed("a review in two parts", one_day_in_two_parts, studio)
    print("No difference in rows, reasons, labels, their type and positions, certificates, and the queues as bytes.")


def install(requirement: str, home: Path) -> Path:
    """The program in a new environment."""
    venv.create(home, with_pip=True)
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    run(scripts / "python", "-m", "pip", "install", "--quiet", requirement)
    return scripts / "label-studio"


@dataclass(frozen=True)
class Studio:
    """A running server, by its API."""

    address: str
    token: str

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What the server answers, which must be a success."""
        headers = {"Authorization": f"Token {self.token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        request = Request(f"{self.address}/api/{path}", data, headers, method=method)
        try:
            with build_opener(ProxyHandler({})).open(request, timeout=SECONDS_TO_ANSWER) as answer:
                return json.loads(answer.read())
        except HTTPError as error:
            sys.exit(f"{method} {path}: {error.code} {error.read().decode(errors='replace')[:2000]}")

    def version(self) -> str:
        """Its version."""
        return str(self.ask("GET", "version")["release"])

    def project(self, title: str, classes: np.ndarray) -> int:
        """The number of a new project with the labelling interface for these classes."""
        return int(self.ask("POST", "projects/", {"title": title, "label_config": label_config(classes)})["id"])

    def import_tasks(self, project: int, tasks: list[dict[str, Any]]) -> list[int]:
        """The server's numbers of the tasks, once it gives them back as they were sent."""
        before = len(self.export(project))
        said = self.ask("POST", f"projects/{project}/import?return_task_ids=true", tasks)
        same("tasks imported", said["task_count"], len(tasks))
        same("predictions imported", said["prediction_count"], sum("predictions" in one for one in tasks))
        same("rows and reasons", [one["data"] for one in self.export(project)[before:]], [one["data"] for one in tasks])
        return list(said["task_ids"])

    def choose(self, task: int, label: Any, *, skip: bool = False) -> None:
        """Choose a label, and save or skip the task; the page sends what is chosen with a skipped task also."""
        result = {"from_name": "label", "to_name": "row", "type": "choices", "value": {"choices": [str(label)]}}
        body = {"result": [result], "was_cancelled": skip, "lead_time": 1.0}
        self.ask("POST", f"tasks/{task}/annotations/", body)

    def export(self, project: int, *, kind: str = "JSON", every: bool = True) -> list[dict[str, Any]]:
        """The export of a project, by default with tasks that nobody has labelled."""
        path = f"projects/{project}/export?exportType={kind}&download_all_tasks={str(every).lower()}"
        return sorted(self.ask("GET", path), key=lambda task: task["id"])


@contextmanager
def server(program: Path, folder: Path) -> Iterator[Studio]:
    """A new server that is asked by nobody else, knows nothing, and is stopped in the end."""
    folder.mkdir()
    token = secrets.token_hex(20)
    person = {"USERNAME": "person@example.com", "PASSWORD": secrets.token_hex(20), "USER_TOKEN": token}
    own = {f"LABEL_STUDIO_{name}": value for name, value in (person | {"BASE_DATA_DIR": str(folder)}).items()}
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LABEL_STUDIO_", "HEARTEX_", "PYTHONPATH"))}
    port = free_port()
    command = [program, "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
    log = folder / "log.txt"
    with log.open("wb") as file:
        process = subprocess.Popen(command, env=kept | QUIET | own, cwd=folder, stdout=file, stderr=file)
    try:
        studio = Studio(f"http://127.0.0.1:{port}", token)
        timed("start", wait_for, studio, process, log)
        yield studio
    finally:
        process.terminate()
        try:
            process.wait(SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(studio: Studio, process: subprocess.Popen, log: Path) -> None:
    """Return when the server answers."""
    end = time.monotonic() + SECONDS_TO_START
    while process.poll() is None and time.monotonic() < end:
        try:
            studio.version()
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(1)
        else:
            return
    sys.exit(f"{log.read_text(errors='replace')[-4000:]}\nLabel Studio does not answer.")


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def two_days_in_one_project(studio: Studio) -> None:
    """Reviews of two days in one project, with labels of text that XML must escape, and the model's labels shown."""
    y = np.array(["good", 'bad "<&>" \'', "größer, 50 %"])[KIND]
    model = SEPClassifier().fit(X[:1000], y[:1000])
    through, direct = (new_queue(model) for _ in range(2))
    project = studio.project("Two days", model.classes_)
    for day in DAYS:
        review, twin = through.choose(X[day]), direct.choose(X[day])
        truth = y[day][review.positions]
        tasks = studio.import_tasks(project, to_label_studio(review, X[day], names=["width", "height"]))
        answer(studio, tasks, truth, model.classes_)
        exported = studio.export(project)
        labels = expected(truth)
        found = compare_labels(exported, model.classes_, review, labels)
        finished = from_label_studio(studio.export(project, every=False), model.classes_, review=review)
        same("labels of finished tasks only", by_position(*finished), by_position(*found))
        certificate = through.learn(review, found.labels, found.positions)
        same("certificate", certificate, direct.learn(twin, labels))
        same("queue", through.to_bytes(), direct.to_bytes())
        print(f"review {review.number}: {summary(tasks, exported, len(found.labels))}. {certificate}")
    if not np.isfinite(certificate.threshold):
        sys.exit("Nothing was certified, so that equal certificates show little.")
    refused("an export as JSON-MIN", studio.export(project, kind="JSON_MIN"), model.classes_)
    refused("two reviews at once", exported, model.classes_)


def one_day_in_two_parts(studio: Studio) -> None:
    """A review with numbers as labels and the model hidden, exported when half is done and again at the end."""
    model = SEPClassifier().fit(X[:1000], KIND[:1000])
    through, direct = (new_queue(model) for _ in range(2))
    day = DAYS[0]
    review, twin = through.choose(X[day]), direct.choose(X[day])
    truth, labels, half = KIND[day][review.positions], expected(KIND[day][review.positions]), len(review) // 2
    project = studio.project("Two parts", model.classes_)
    tasks = studio.import_tasks(project, to_label_studio(review, X[day], hide_model=True))
    answer(studio, tasks[:half], truth[:half], model.classes_)
    first = np.append(labels[:half], [None] * (len(review) - half))
    found = compare_labels(studio.export(project), model.classes_, review, first)
    certificate = through.learn(review, found.labels, found.positions, complete=False)
    same("certificate in between", certificate, direct.learn(twin, first, complete=False))
    for task, label in zip(tasks[half:], truth[half:], strict=True):
        studio.choose(task, label)
    exported = studio.export(project)
    found = compare_labels(exported, model.classes_, review, labels)
    certificate = through.learn(review, found.labels, found.positions)
    same("certificate", certificate, direct.learn(twin, labels))
    same("queue", through.to_bytes(), direct.to_bytes())
    print(f"review in two parts: {summary(tasks, exported, len(found.labels))}. {certificate}")


def new_queue(model: SEPClassifier) -> ReviewQueue:
    return ReviewQueue(model, 60, max_risk=0.2, coverage=0.8, certify_share=0.8, random_state=0)


def answer(studio: Studio, tasks: list[int], truth: np.ndarray, classes: np.ndarray) -> None:
    """Choose the true labels, but for one task alone, one skipped, and one that a second person sees differently."""
    for i, (task, label) in enumerate(zip(tasks, truth, strict=True)):
        if i != ALONE:
            studio.choose(task, label, skip=i == SKIPPED)
        if i == DISPUTED:
            studio.choose(task, next(one for one in classes if one != label))


def expected(truth: np.ndarray) -> np.ndarray:
    """The labels that `answer` lets through, in the order of the review; None where there is none."""
    labels = truth.astype(object)
    labels[[ALONE, SKIPPED, DISPUTED]] = None
    return labels


def compare_labels(exported: list[dict[str, Any]], classes: np.ndarray, review: Review, labels: np.ndarray) -> Any:
    """What is read from the export, if it is these labels, and by way of a file as well."""
    found = from_label_studio(exported, classes, review=review)
    known = np.array([one is not None for one in labels])
    same("labels and positions", by_position(*found), by_position(review.positions[known], labels[known]))
    same("type of the labels", found.labels.dtype.kind, classes.dtype.kind)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "export.json"
        file.write_text(json.dumps(exported), encoding="utf-8")
        same(
            "labels by way of a file",
            by_position(*from_label_studio(file, classes, review=review)),
            by_position(*found),
        )
    return found


def by_position(positions: np.ndarray, labels: np.ndarray) -> dict[int, Any]:
    return dict(sorted(zip(positions.tolist(), labels.tolist(), strict=True)))


def summary(tasks: list[int], exported: list[dict[str, Any]], n_labels: int) -> str:
    own = [one for task in exported if task["id"] in tasks for one in task["annotations"]]
    return f"{len(tasks)} tasks in, {len(own)} annotations out, {n_labels} labels read"


def refused(what: str, exported: list[dict[str, Any]], classes: np.ndarray) -> None:
    """Stop unless reading labels from this is refused."""
    try:
        from_label_studio(exported, classes)
    except ValueError as error:
        print(f"refused, {what}: {error}")
    else:
        sys.exit(f"read without complaint, {what}")


def same(what: str, found: Any, expected: Any) -> None:
    """Stop at a difference."""
    if found != expected:
        sys.exit(f"difference, {what}:\n  found    {str(found)[:2000]}\n  expected {str(expected)[:2000]}")


if __name__ == "__main__":
    main()
