"""What numbers say of the paper's claims: in how many cases each is true, as functions of the tables."""
