"""What a draw says: readings, the functions g of them, recording them and listening to them."""
