"""Campaigns of random inputs against what reads them: longer than tests may take, repeatable by their seeds.

    PYTHONPATH=src:test python -m fuzz text --seconds 600 --seed 1

Each campaign is a file here with a `CAMPAIGN`. With `--keep FOLDER`, a case that fails is made small and
written there; one that teaches something becomes a test of its own. Short rounds of the campaigns are among the unit tests.
"""
