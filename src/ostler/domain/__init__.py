"""The nouns of the model and their state machines: pure values, no I/O and no clock.

Each noun's file holds its states, its events and one literal table ``{(state, event): state}``; ``apply`` walks the
table and returns what the noun became together with the effects that must follow. Storing either is not done here.
"""
