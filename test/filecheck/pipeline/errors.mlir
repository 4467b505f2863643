// Errors show the place in the text of the pipeline; test_pipeline.py has all of them.
// RUN: not flambeau-opt %s -p 'cse,csee' 2>&1 | filecheck %s --check-prefix NAME --match-full-lines --strict-whitespace
// RUN: not flambeau-opt %s -p 'plan-memory{alignment=big}' 2>&1 | filecheck %s --check-prefix TYPE
// RUN: not flambeau-opt %s -p 'func.fun(cse)' 2>&1 | filecheck %s --check-prefix ANCHOR
// RUN: not flambeau-opt %s -p 'func.func(dce)' 2>&1 | filecheck %s --check-prefix WHOLE
// RUN: not flambeau-opt %s -p 'cse{' 2>&1 | filecheck %s --check-prefix OPEN
// RUN: not flambeau-opt %s -p 'compile{traget=flambeau}' 2>&1 | filecheck %s --check-prefix PIPELINE
// RUN: not flambeau-opt %s --verify-each=maybe 2>&1 | filecheck %s --check-prefix EACH

//     NAME:<pipeline>:1:5: error: there is no pass or pipeline 'csee'; did you mean 'cse'?
//NAME-NEXT:cse,csee
//NAME-NEXT:    ^
// TYPE:     <pipeline>:1:23: error: option 'alignment' of pass 'plan-memory' must be an integer, got 'big'
// ANCHOR:   <pipeline>:1:1: error: there is no operation 'func.fun' to nest passes in; did you mean 'func.func'?
// WHOLE:    <pipeline>:1:11: error: pass 'dce' works on the whole module: write it outside of func.func(…)
// OPEN:     <pipeline>:1:5: error: expected the '}' that closes the options
// PIPELINE: <pipeline>:1:9: error: pipeline 'compile' has no option 'traget'; it has target, preserve, backends, no-delegate, bounds, tuning, isa, threads, planner, memory, pins, alloc-graph-input, alloc-graph-output; did you mean 'target'?
// EACH:     error: argument --verify-each: expected 0 or 1, got 'maybe'
builtin.module {}
