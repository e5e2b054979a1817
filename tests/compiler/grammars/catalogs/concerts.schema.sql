CREATE TABLE stadium (stadium_id INTEGER PRIMARY KEY, location TEXT, name TEXT, capacity INT, highest INT, average INT);
CREATE TABLE singer (singer_id INTEGER PRIMARY KEY, name TEXT, country TEXT, song_name TEXT, song_year INT, age INT, is_male BOOL);
CREATE TABLE concert (concert_id INTEGER PRIMARY KEY, concert_name TEXT, theme TEXT, stadium_id INT REFERENCES stadium, year INT);
CREATE TABLE singer_in_concert (concert_id INT REFERENCES concert, singer_id INT REFERENCES singer, PRIMARY KEY (concert_id, singer_id));
