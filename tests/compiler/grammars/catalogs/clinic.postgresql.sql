CREATE TABLE public.doctors (id integer PRIMARY KEY, full_name text NOT NULL DEFAULT 'a, b;', speciality varchar(40), hired_on date);
CREATE TABLE IF NOT EXISTS visits (
    id bigint GENERATED ALWAYS AS IDENTITY, -- a comment, with a comma
    doctor_id integer REFERENCES doctors (id),
    patient_id integer,
    visited_at timestamp with time zone,
    fee numeric(10, 2) CHECK (fee > 0),
    notes jsonb,
    tags text[],
    CONSTRAINT visits_key PRIMARY KEY (id),
    UNIQUE (doctor_id, visited_at)
);
CREATE TABLE Patients ("id" integer, NAME text, born date, city text, "Home Phone" text, "order" integer);
ALTER TABLE ONLY Patients ADD CONSTRAINT patients_key PRIMARY KEY (id);
CREATE INDEX by_city ON patients (city);
CREATE VIEW busy_doctors (id, n_visits) AS SELECT doctor_id, count(*) FROM visits GROUP BY doctor_id;
