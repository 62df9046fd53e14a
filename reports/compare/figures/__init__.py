"""Pure builders: frozen dataclasses in, plotly figure as a plain dict out. No Django, no rows, no clock."""
