CREATE TABLE student (stuid INTEGER PRIMARY KEY, lname TEXT, fname TEXT, age INTEGER, sex TEXT, major INTEGER, advisor INTEGER, city_code TEXT);
CREATE TABLE has_pet (stuid INTEGER REFERENCES student(stuid), petid INTEGER REFERENCES pets(petid));
CREATE TABLE pets (petid INTEGER PRIMARY KEY, pettype TEXT, pet_age INTEGER, weight REAL);
CREATE TABLE course (id INTEGER PRIMARY KEY, "name" TEXT, "date" TEXT, "time" TEXT, "count" INTEGER, "key" TEXT, "order" INTEGER, total REAL);
CREATE TABLE "course time" (course_id INTEGER, "week day" TEXT, t1 TEXT, rowid TEXT);
CREATE TABLE enrolled ("name" TEXT, course_id INTEGER, grade REAL, né TEXT, NÄHE TEXT);
