"""People review cases: which ones, who has them, what they answer, and what that proves."""
