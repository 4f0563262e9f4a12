"""The papers' findings, on data that anyone has."""
