CREATE TABLE airlines (uid INTEGER PRIMARY KEY, airline TEXT, abbreviation TEXT, country TEXT);
CREATE TABLE airports (city TEXT, airport_code TEXT PRIMARY KEY, airport_name TEXT, country TEXT, country_abbrev TEXT);
CREATE TABLE flights (airline INTEGER REFERENCES airlines, flight_no INTEGER, source_airport TEXT REFERENCES airports, dest_airport TEXT REFERENCES airports, "group" TEXT, "Delay (minutes)" INT);
