"""How well the data speak for the sticks of an order: approximations and penalised fits."""
