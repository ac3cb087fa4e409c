"""What is wrong, how sure, what it costs, what to do: rules over the results of the analyses.

`rules` holds one rule per file, each a pure function of the `Material`, which `material` gathers
from a trace. `thresholds` are the numbers that rules compare with. `settle` makes what the rules
claim add up to no more than the time there was. `findings` runs it all.
"""
