// What is wrong with a plug-in is a line with its place; see test_plugins.py for more.
// RUN: not flambeau-opt %s --load-plugin %S/broken.py 2>&1 | filecheck %s
// RUN: not flambeau-opt %s --load-plugin %S/double.py --load-plugin %S/again/double.py -p double 2>&1 | filecheck %s --check-prefix=CLASH
// RUN: not flambeau-opt %s --load-plugin %S/gone.py 2>&1 | filecheck %s --check-prefix=GONE

// CHECK:      {{.*}}broken.py:5:9: error: ValueError: there is no operation aten.twize{{.*}}; FLAMBEAU_DEBUG=1 shows the traceback
// CHECK-NEXT: Twice = op("aten.twize")
// CHECK-NEXT:         ^~~~~~~~~~~~~~~~
// CLASH:      {{.*}}again/double.py:7:2: error: plug-in {{.*}}again/double.py declares the row 'doubles.twice', but plug-in {{.*}}plugins/double.py has one of that name; give it another name
// GONE:       {{^}}error: plug-in {{.*}}gone.py: no such file{{$}}
builtin.module {}
