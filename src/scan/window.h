/*
 * window.h
 *		Read the first buckets in the order of time by limited queries.
 */
#ifndef MTS_WINDOW_H
#define MTS_WINDOW_H

#include "scan/source.h"

typedef struct MtsWindow MtsWindow;

extern MtsWindow *mts_window_new(MtsBucketSource *source);
extern int mts_window_limit(const MtsWindow *window);
extern const bson_t *mts_window_next(MtsWindow *window);
extern bool mts_window_next_time(const MtsWindow *window, MtsTime *t);

#endif /* MTS_WINDOW_H */
