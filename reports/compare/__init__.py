"""Curves and ceilings side by side: analysis, figures, queries, and the pages that show them."""
