"""The dashboard of one machine: an OTLP receiver, one SQLite file, and what is read from it."""
