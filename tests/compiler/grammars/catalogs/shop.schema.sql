-- What a shop keeps; a dump has data between its tables.
CREATE TABLE customers (id INTEGER PRIMARY KEY, first_name TEXT NOT NULL, last_name TEXT, email TEXT UNIQUE, city TEXT, created_at TEXT);
INSERT INTO customers VALUES (1, 'A', 'B', 'a;b@example.org', 'Oslo', '2024-01-01');
CREATE TABLE categories (id INTEGER PRIMARY KEY, title TEXT, parent_id INT REFERENCES categories);
CREATE TABLE products (id INTEGER PRIMARY KEY, title TEXT, price REAL, category_id INT REFERENCES categories, stock INT, gross REAL GENERATED ALWAYS AS (price * 1.25));
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INT REFERENCES customers, ordered_at TEXT, status TEXT);
CREATE TABLE order_items (order_id INT, product_id INT, quantity INT, unit_price REAL, PRIMARY KEY (order_id, product_id)) WITHOUT ROWID;
CREATE TABLE reviews (id INTEGER PRIMARY KEY, product_id INT, customer_id INT, rating INT, body TEXT);
CREATE VIEW open_orders AS SELECT id, customer_id FROM orders WHERE status = 'open';
