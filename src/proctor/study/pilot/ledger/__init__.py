"""What a pilot has recorded: its journal, its runs, its charges, its interim looks."""
