"""Public helpers for tests: the scripted Messages-API server and the conformance suites of our protocols."""
