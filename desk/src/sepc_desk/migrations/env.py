"""Run by Alembic: migrates the database of the connection that it is given."""

from alembic import context

from sepc_desk.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
