#!/bin/sh
# Print the home of a Java that Spark can run on; fail if there is none.
exec "$(dirname "$0")/../.venv/bin/python" -m thalweg.job.java
