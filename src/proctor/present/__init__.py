"""Presentation: findings as pages, figures and tables."""
