// Exact reductions: a smaller problem with the same optimum.
//
// What is done, until nothing changes:
//  * nodes that are forbidden, need their own class, or have a child without
//    any derivation go, and so do classes that the roots do not reach;
//  * a node goes whose children all need its own class (closure.h);
//  * dominance: node b of a class goes for a node a of the same class that is
//    not dearer, where b's children need all of a's (or lack only what can be
//    derived for the difference). Applied only where no node below b has a
//    negative cost: what the exchange sets free must not have been a gain;
//    Where closures are out of reach, only where a's children are among b's;
//  * what the roots need becomes a root; a child that is needed anyway, by a
//    root or by another child, is no longer listed, unless a cycle through it
//    must still be seen (same strong component);
//  * a class with one node and one user is merged into that user; a root with
//    one node and no user is paid for and its children become roots.
#ifndef ENCORE_OPT_EXTRACT_REDUCE_H_
#define ENCORE_OPT_EXTRACT_REDUCE_H_

#include <cstdint>
#include <span>

#include "encore/opt/extract/problem.h"
#include "encore/opt/extract/reduced.h"

namespace encore::opt::extract {

// Reduces `problem` (without groups), keeping only nodes with keep[n] != 0
// (empty: all). `max_words` bounds the work on closures, which decide most of
// what is found; 0 leaves them out.
Reduced Reduce(const Problem& problem, std::span<const uint8_t> keep,
               uint64_t max_words);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_REDUCE_H_
