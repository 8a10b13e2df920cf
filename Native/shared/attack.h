// What code that took over the helper would try, for builds of tests alone.
#ifndef OSTIARY_ATTACK_H
#define OSTIARY_ATTACK_H

#ifdef OSTIARY_TEST_OPTIONS
// `--attack [unfiltered | confined] ATTEMPT PROCESS`: makes one call on another process, and prints what came of it; without an
// attempt it prints the names of all. The filter is the helper's own; with `confined` that of one whose AppArmor profile lets it do
// more, and with `unfiltered` there is none.
//
// Returns if these arguments ask for no attack.
void attack_if_asked(int count, char **arguments, int (*begin_filter)(int is_confined));
#endif

#endif
