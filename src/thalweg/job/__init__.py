"""The thin Spark shell around intake, shards and outlet."""
