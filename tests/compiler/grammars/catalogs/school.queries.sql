SELECT count(*) FROM pets WHERE weight > 10
SELECT weight FROM pets ORDER BY pet_age LIMIT 1
SELECT max(weight), pettype FROM pets GROUP BY pettype
SELECT count(*) FROM student AS T1 JOIN has_pet AS T2 ON T1.stuid = T2.stuid WHERE T1.age > 20
SELECT DISTINCT T1.fname, T1.age FROM student AS T1 JOIN has_pet AS T2 ON T1.stuid = T2.stuid
SELECT T1.fname FROM student AS T1 JOIN has_pet AS T2 ON T1.stuid = T2.stuid JOIN pets AS T3 ON T3.petid = T2.petid WHERE T3.pettype = 'cat' INTERSECT SELECT T1.fname FROM student AS T1
SELECT major, age FROM student WHERE stuid NOT IN (SELECT T1.stuid FROM student AS T1 JOIN has_pet AS T2 ON T1.stuid = T2.stuid)
SELECT avg(pet_age), pettype FROM pets GROUP BY pettype HAVING count(*) >= 2
SELECT name, date, time, count, key, total FROM course
SELECT course.name, "order", course."order", date(date), count(count), total(total), sum(total) FROM course
SELECT "week day", course_id FROM "course time" WHERE "course time".course_id = 3
SELECT [course time].rowid, `course time`.t1, t1, oid FROM [course time]
SELECT course.id FROM course, enrolled WHERE enrolled.name = course.name AND enrolled.grade IS NOT NULL
SELECT "né", enrolled."né" FROM enrolled
SELECT avg(enrolled.grade) AS avg_grade, enrolled.course_id FROM enrolled GROUP BY enrolled.course_id ORDER BY avg_grade DESC NULLS LAST
SELECT id FROM course WHERE "key" IS NULL OR key = ''
SELECT cume_dist() OVER w FROM student WINDOW w AS (PARTITION BY sex ORDER BY age)
UPDATE course SET "order" = 1, key = 'k', (name, date) = ('a', 'b') WHERE id = 1
SELECT name FROM course WHERE name IN (SELECT name FROM enrolled) AND total IS NOT 3
