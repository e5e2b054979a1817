SELECT country FROM airlines WHERE airline = 'JetBlue Airways'
SELECT airport_name FROM airports WHERE airport_code = 'AKO'
SELECT count(*) FROM airlines WHERE Country = 'USA'
SELECT CITY, COUNTRY FROM AIRPORTS WHERE AIRPORT_NAME = 'Alton'
SELECT count(*) FROM flights AS T1 JOIN airports AS T2 ON T1.dest_airport = T2.airport_code WHERE T2.city = 'Aberdeen'
SELECT T1.airline FROM airlines AS T1 JOIN flights AS T2 ON T1.uid = T2.airline GROUP BY T1.airline ORDER BY count(*) DESC LIMIT 1
SELECT T1.flight_no FROM flights AS T1 JOIN airports AS T2 ON T1.source_airport = T2.airport_code WHERE T2.airport_name = 'APG'
SELECT airline FROM airlines WHERE uid NOT IN (SELECT airline FROM flights)
SELECT T1.city FROM airports AS T1 JOIN flights AS T2 ON T1.airport_code = T2.dest_airport OR T1.airport_code = T2.source_airport GROUP BY T1.city ORDER BY count(*) ASC
SELECT "group", max("Delay (minutes)") FROM flights GROUP BY "group"
SELECT [Delay (minutes)], `group` FROM flights WHERE flights."group" IS NOT NULL
SELECT avg(flights.`Delay (minutes)`) FROM flights WHERE flights.flight_no > 100
SELECT "airline" FROM "airlines" WHERE "airlines"."country" IN ('USA', 'Canada')
SELECT airport_code FROM airports EXCEPT SELECT source_airport FROM flights EXCEPT SELECT dest_airport FROM flights
SELECT a.city, b.city FROM flights f JOIN airports a ON f.source_airport = a.airport_code JOIN airports b ON f.dest_airport = b.airport_code
SELECT flights . flight_no /* a comment */ FROM flights -- the end
SELECT upper(abbreviation), length(airline) FROM airlines ORDER BY 2 DESC;
