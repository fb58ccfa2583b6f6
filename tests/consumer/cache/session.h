// Of the same name as a header of Encore's, and another thing.
#ifndef CACHE_SESSION_H_
#define CACHE_SESSION_H_

namespace consumer {

constexpr int kSessions = 2;

}  // namespace consumer

#endif  // CACHE_SESSION_H_
