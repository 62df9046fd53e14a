"""Pages and answers of the site itself: home, help, health, metrics, backup."""
