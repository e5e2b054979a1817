SELECT full_name, hired_on FROM doctors WHERE speciality ILIKE 'cardio%' ORDER BY hired_on DESC NULLS LAST LIMIT 5 OFFSET 10
SELECT d.full_name, count(*) AS total FROM doctors AS d JOIN visits v ON v.doctor_id = d.id GROUP BY d.full_name HAVING count(*) > 3 ORDER BY total DESC
SELECT date_trunc('month', visited_at)::date, sum(fee) FROM visits GROUP BY 1 ORDER BY 1
SELECT extract(year FROM born), count(*) FILTER (WHERE city = 'Oslo') FROM patients GROUP BY extract(year FROM born)
SELECT "Home Phone", patients."order" FROM patients WHERE "Home Phone" IS NOT NULL
SELECT DISTINCT ON (patient_id) patient_id, visited_at FROM visits ORDER BY patient_id, visited_at DESC
SELECT notes ->> 'reason', tags[1], array_length(tags, 1) FROM visits WHERE notes -> 'a' IS NOT NULL
WITH cte AS (SELECT doctor_id, avg(fee) AS avg_fee FROM visits GROUP BY doctor_id) SELECT d.full_name, round(cte.avg_fee, 2) FROM cte JOIN doctors d ON d.id = cte.doctor_id
SELECT NAME, City FROM PATIENTS WHERE born < current_date - interval '18 years'
SELECT visits.fee, rank() OVER (PARTITION BY visits.doctor_id ORDER BY visits.fee DESC) AS rank_of_fee FROM visits
SELECT t1.num FROM (SELECT city, count(*) AS num FROM patients GROUP BY city) t1 WHERE t1.num >= 2
SELECT id FROM doctors EXCEPT SELECT doctor_id FROM visits WHERE visited_at >= timestamp '2024-01-01'
SELECT p.name FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id AND v.fee BETWEEN 10 AND 20)
SELECT coalesce(p.city, 'unknown') || '!', CASE WHEN p.born IS NULL THEN 0 ELSE 1 END FROM patients p LEFT JOIN LATERAL (SELECT max(v.fee) AS max_fee FROM visits v WHERE v.patient_id = p.id) x ON true
SELECT busy_doctors.n_visits, doctors.* FROM busy_doctors INNER JOIN doctors USING (id)
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY fee) FROM visits WHERE patient_id = ANY (ARRAY[1, 2]) OR doctor_id IN (1, $1)
SELECT string_agg(DISTINCT name, ', '), cast(count(*) AS integer) FROM patients GROUP BY GROUPING SETS ((city), ());
