"""What vtax is made of: whether it may be, and the list of it that the wheel has."""
