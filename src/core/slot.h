/*
 * slot.h
 *		Which number has this slot in its bucket?
 */
#ifndef MTS_SLOT_H
#define MTS_SLOT_H

#include "core/layout.h"

/* No array of BSON has as many elements */
#define MTS_MAX_ELEMENTS (INT64_C(1) << 23)

extern bool mts_slot_is_numbered(const MtsLayout *layout);
extern int64_t mts_slot_number(const MtsLayout *layout, const int64_t *index);
extern bool mts_slot_end(const MtsLayout *layout, MtsTime start,
						 const int64_t *index, int level, int64_t *end_key);

#endif /* MTS_SLOT_H */
