"""PDDL, beside the package pddl."""

from small_languages.rows import Rows

DOMAIN = """; A domain.
(define (domain Depot-1)
  (:requirements :strips :typing :equality :adl :numeric-fluents :conditional-effects :negative-preconditions
    :disjunctive-preconditions :universal-preconditions :existential-preconditions :non-deterministic :derived-predicates)
  (:types place object_2 - object truck - place)
  (:constants depot - place)
  (:predicates (at ?x ?y - place) (free ?t - (either truck place)) (near ?a ?b))
  (:functions (distance ?a ?b - place) - number (total))
  (:action drive
    :parameters (?t - truck ?a ?b)
    :precondition (and (at ?t ?a) (not (= ?a ?b)) (or (free ?t) (>= (fuel ?t) (* 2 (distance ?a ?b) 1.5)))
                       (forall (?x - place) (imply (at ?x ?a) (exists (?y) (at ?y ?x)))) (= (fuel ?t) 3))
    :effect (and (not (at ?t ?a)) (when (free ?t) (and (at ?t ?b))) (forall (?x) (at ?x ?b))
                 (increase (total) (- (distance ?a ?b) (- 1))) (oneof (free ?t) (and))))
  (:action wait :parameters () :precondition () :effect ())
  (:derived (near ?a ?b) (at ?a ?b)))
"""
PROBLEM = """(define (problem one) (:domain depot) (:objects a b - place t)
  (:init (at t a) (not (at t b)) (= (distance a b) 10) (= total 0.5))
  (:goal (and (at t b)))
  (:metric minimize (+ (total) (* 2 total) (/ 1 2))))
"""

WORDS = "( ) a ?x - number (p) (p ?x) (and not or (= 1 f (f) :init :goal :parameters () :effect :types object (when = > + either"

ROWS = Rows(
    accepted=[
        DOMAIN,
        PROBLEM,
        "(define (domain a))",
        "(define (domain a) (:predicates (b-c_1)))",
        "(define(problem a)(:domain b)(:init)(:goal(p)))",
        "(define (problem a) (:domain b) (:requirements :adl) (:init) (:goal (and)))",
        "(define (domain a) (:predicates (p)) (:action b :parameters (?x-1) :precondition () :effect (p)))",
    ],
    refused=[
        "",
        "define",
        "(define)",
        "(define (domain))",
        "(define (domain a)",
        "(define (domain a)))",
        "(Define (domain a))",
        "(define (domain 1a))",
        "(define (domain a) (:requirements))",
        "(define (domain a) (:requirements :magic))",
        "(define (domain a) (:requirements strips))",
        "(define (domain a) (:types ?b))",
        "(define (domain a) (:types - b))",
        "(define (domain a) (:types b - c - d))",
        "(define (domain a) (:types b -))",
        "(define (domain a) (:predicates))",
        "(define (domain a) (:predicates p))",
        "(define (domain a) (:predicates (p x)))",
        "(define (domain a) (:predicates (p ?x - (either))))",
        "(define (domain a) (:functions (f) - integer))",
        "(define (domain a) (:predicates (p)) (:types b))",
        "(define (domain a) (:action b))",
        "(define (domain a) (:action b :parameters ?x))",
        "(define (domain a) (:action b :parameters () :effect (p) :precondition (p)))",
        "(define (domain a) (:action b :parameters () :precondition p))",
        "(define (domain a) (:action b :parameters () :precondition (not)))",
        "(define (domain a) (:action b :parameters () :precondition (not (p) (p))))",
        "(define (domain a) (:action b :parameters () :precondition (imply (p))))",
        "(define (domain a) (:action b :parameters () :precondition (> 1)))",
        "(define (domain a) (:action b :parameters () :precondition (when (p) (p))))",
        "(define (domain a) (:action b :parameters () :effect (or (p) (p))))",
        "(define (domain a) (:action b :parameters () :effect (and (and (p)))))",
        "(define (domain a) (:action b :parameters () :effect (increase f)))",
        "(define (domain a) (:durative-action b :parameters ()))",
        "(define (problem a) (:init) (:goal (p)))",
        "(define (problem a) (:domain b) (:goal (p)))",
        "(define (problem a) (:domain b) (:init))",
        "(define (problem a) (:domain b) (:init) (:goal))",
        "(define (problem a) (:domain b) (:init (p ?x)) (:goal (p)))",
        "(define (problem a) (:domain b) (:init (= (f) x)) (:goal (p)))",
        "(define (problem a) (:domain b) (:init (= c d)) (:goal (p)))",
        "(define (problem a) (:domain b) (:init) (:goal (p)) (:metric (f)))",
        "(define (problem a) (:domain b) (:init) (:goal (p)) (:metric minimize))",
    ],
    words=WORDS.split(),
    texts=300,
    tokens=[
        "(define (domain ",
        "(:action ",
        ":parameters (?",
        " - ",
        "(and (",
        ")))\n",
        "(:objects ",
        "(:init\n",
        "?x ",
        "(not (",
        ":precondition ",
    ],
)
