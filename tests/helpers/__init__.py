"""What tests share. No test module imports from another one: what several need is here."""
