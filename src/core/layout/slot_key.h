/*
 * slot_key.h
 *		The texts of the keys of slots that count units.
 */
#ifndef MTS_SLOT_KEY_H
#define MTS_SLOT_KEY_H

#include "core/layout/path.h"

/* Room for the key of a slot, its NUL included */
#define MTS_MAX_KEY (MTS_MAX_PATH + MTS_MAX_NUMBERS * 20)

/* Room for the regular expression of a slot's keys, its NUL included */
#define MTS_MAX_KEY_REGEX (2 * MTS_MAX_PATH + MTS_MAX_NUMBERS * 64)

/* Room for a dotted path whose slots are filled in, its NUL included */
#define MTS_MAX_DOTTED 2048

extern size_t mts_slot_key_text(const MtsStep *step, int64_t index,
								char *buffer, const char **text);
extern MtsKeyText mts_slot_key_index(const MtsStep *step, const char *key,
									 size_t len, int64_t *index);
extern void mts_slot_key_regex(const MtsStep *step, char *regex);
extern bool mts_slot_key_is_addressable(const MtsStep *step);
extern bool mts_slot_key_text_is_addressable(const char *text, size_t len);

#endif /* MTS_SLOT_KEY_H */
