"""The index of runs: rows from run directories, stored as Parquet, queried in SQL. It can always be built again."""
