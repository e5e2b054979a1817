SELECT first_name || ' ' || last_name AS "num" FROM customers
SELECT title, price FROM products WHERE price > 100 ORDER BY price DESC, title COLLATE NOCASE LIMIT 10 OFFSET 5
SELECT c.first_name, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NULL
SELECT p.title, sum(oi.quantity * oi.unit_price) AS total FROM products p JOIN order_items oi ON oi.product_id = p.id GROUP BY p.id ORDER BY total DESC
SELECT categories.title, count(products.id) FROM categories, products WHERE products.category_id = categories.id GROUP BY categories.title
SELECT strftime('%Y-%m', ordered_at), count(DISTINCT customer_id) FROM orders GROUP BY 1
SELECT CASE WHEN rating >= 4 THEN 'good' WHEN rating = 3 THEN 'fair' ELSE 'bad' END, count(*) FROM reviews GROUP BY 1
SELECT title FROM products WHERE id IN (SELECT product_id FROM reviews GROUP BY product_id HAVING avg(rating) > 4.5)
SELECT avg(r.rating) FROM reviews AS r INNER JOIN products AS p ON r.product_id = p.id WHERE p.category_id IS NOT NULL
SELECT t1.num FROM (SELECT customer_id, count(*) AS num FROM orders GROUP BY customer_id) AS t1 WHERE t1.num > 3
WITH RECURSIVE cte_tree(id, n) AS (SELECT id, 0 FROM categories WHERE parent_id IS NULL UNION ALL SELECT c.id, cte_tree.n + 1 FROM categories c JOIN cte_tree ON c.parent_id = cte_tree.id) SELECT * FROM cte_tree
SELECT title, rank() OVER (PARTITION BY category_id ORDER BY price DESC) AS rank_in_category FROM products
SELECT open_orders.customer_id FROM open_orders UNION SELECT customer_id FROM reviews
SELECT gross, rowid FROM products WHERE products.gross > 10
SELECT round(price, 2), coalesce(stock, 0), CAST(price AS INTEGER) FROM products WHERE title GLOB 'A*'
SELECT id FROM orders WHERE ordered_at BETWEEN '2024-01-01' AND date('now', '-1 month') AND status <> 'open'
INSERT INTO products (title, price, category_id) SELECT title, 10.0, id FROM categories
INSERT INTO customers (id, first_name) VALUES (2, 'C') ON CONFLICT (id) DO UPDATE SET first_name = excluded.first_name RETURNING id
REPLACE INTO order_items (order_id, product_id, quantity) VALUES (1, 2, 3), (1, 3, 1)
UPDATE products AS p SET stock = p.stock - 1 WHERE p.id = ?1
DELETE FROM reviews WHERE rating < 2 AND NOT EXISTS (SELECT 1 FROM orders WHERE orders.customer_id = reviews.customer_id)
SELECT sum(quantity) FILTER (WHERE unit_price > 5), replace(title, 'a', 'b') FROM order_items, products
