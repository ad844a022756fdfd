/*
 * rolling.h
 *		The collections that a scan reads, each a part of its query.
 */
#ifndef MTS_ROLLING_H
#define MTS_ROLLING_H

#include "scan/part.h"

extern List *mts_rolling_parts(const MtsCollections *collections);
extern bool mts_rolling_is_wanted(const MtsQuery *query,
								  const MtsCollection *collection);
extern List *mts_rolling_choose(List *parts, const MtsQuery *query);
extern bool mts_rolling_limit(const MtsQuery *query, const MtsPart *next,
							  MtsTime *limit);

#endif /* MTS_ROLLING_H */
