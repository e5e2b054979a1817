SELECT count(*) FROM singer
SELECT name, country, age FROM singer ORDER BY age DESC
SELECT avg(age), min(age), max(age) FROM singer WHERE country = 'France'
SELECT song_name, song_year FROM singer ORDER BY age LIMIT 1
SELECT DISTINCT country FROM singer WHERE age > 20
SELECT country, count(*) FROM singer GROUP BY country
SELECT song_name FROM singer WHERE age > (SELECT avg(age) FROM singer)
SELECT location, name FROM stadium WHERE capacity BETWEEN 5000 AND 10000
SELECT T2.name, count(*) FROM concert AS T1 JOIN stadium AS T2 ON T1.stadium_id = T2.stadium_id GROUP BY T1.stadium_id
SELECT T2.name, T2.capacity FROM concert AS T1 JOIN stadium AS T2 ON T1.stadium_id = T2.stadium_id WHERE T1.year >= 2014 GROUP BY T2.stadium_id ORDER BY count(*) DESC LIMIT 1
SELECT name FROM stadium WHERE stadium_id NOT IN (SELECT stadium_id FROM concert)
SELECT country FROM singer WHERE age > 40 INTERSECT SELECT country FROM singer WHERE age < 30
SELECT name FROM stadium EXCEPT SELECT T2.name FROM concert AS T1 JOIN stadium AS T2 ON T1.stadium_id = T2.stadium_id WHERE T1.year = 2014
SELECT T2.concert_name, T2.theme, count(*) FROM singer_in_concert AS T1 JOIN concert AS T2 ON T1.concert_id = T2.concert_id GROUP BY T2.concert_id
SELECT singer.name FROM singer JOIN singer_in_concert ON singer.singer_id = singer_in_concert.singer_id WHERE singer_in_concert.concert_id = 1
SELECT name, country FROM singer WHERE song_name LIKE '%Hey%'
SELECT count(*) AS total_concerts, year FROM concert GROUP BY year HAVING total_concerts > 1 ORDER BY total_concerts DESC, year
SELECT stadium.* FROM stadium WHERE EXISTS (SELECT 1 FROM concert c WHERE c.stadium_id = stadium.stadium_id)
WITH cte AS (SELECT stadium_id, count(*) AS num FROM concert GROUP BY stadium_id) SELECT s.name, cte.num FROM cte JOIN stadium s USING (stadium_id)
INSERT INTO singer (singer_id, name, age) VALUES (7, 'Ana', 31)
UPDATE concert SET year = year + 1, theme = NULL WHERE stadium_id = 3
DELETE FROM singer_in_concert WHERE concert_id IN (SELECT concert_id FROM concert WHERE year < 2000)
