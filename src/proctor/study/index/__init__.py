"""The index of runs: rows from run directories, kept as Parquet, asked in SQL. It can always be made again."""
