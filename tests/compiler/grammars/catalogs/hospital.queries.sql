SELECT name FROM physician WHERE position LIKE '%senior%'
SELECT T1.name FROM physician AS T1 JOIN department AS T2 ON T1.employeeid = T2.head WHERE T2.departmentid = 3
SELECT physician.name FROM physician JOIN affiliated_with ON physician.employeeid = affiliated_with.physician WHERE affiliated_with.primaryaffiliation = 1
SELECT T1.name, T2.appointmentid FROM patient AS T1 JOIN appointment AS T2 ON T1.ssn = T2.patient
SELECT name FROM nurse WHERE employeeid NOT IN (SELECT prepnurse FROM appointment WHERE prepnurse IS NOT NULL)
SELECT count(patient) FROM stay WHERE room = 112
SELECT T1.dose FROM prescribes AS T1 JOIN medication AS T2 ON T1.medication = T2.code WHERE T2.name = 'Procrastin-X' ORDER BY T1.date DESC
SELECT name, brand FROM medication WHERE brand IN ('X', 'Y') OR description IS NULL
SELECT T3.name FROM appointment AS T1 JOIN patient AS T2 ON T1.patient = T2.ssn JOIN physician AS T3 ON T2.pcp = T3.employeeid
SELECT patient.name FROM patient JOIN stay ON patient.ssn = stay.patient WHERE stay.staystart > '2008-01-01' GROUP BY patient.ssn HAVING count(*) > 1
SELECT appointment.start, appointment."end" FROM appointment WHERE "end" > start
SELECT julianday(stayend) - julianday(staystart) AS diff_days FROM stay ORDER BY diff_days
SELECT x.name FROM physician x, department d WHERE x.employeeid = d.head AND d.name <> 'Surgery'
SELECT max(num_patients.num) FROM (SELECT physician, count(DISTINCT patient) AS num FROM prescribes GROUP BY physician) AS num_patients
SELECT ssn FROM nurse UNION ALL SELECT ssn FROM patient ORDER BY ssn LIMIT 5
SELECT prescribes.date, date('now') FROM prescribes WHERE physician = 1 AND patient = 2
INSERT INTO stay VALUES (1, 2, 3, '2020-01-01', '2020-01-02')
UPDATE OR IGNORE nurse SET registered = TRUE WHERE nurse.registered IS FALSE
