"""What the site knows without any team: systems and the formats it reads."""
