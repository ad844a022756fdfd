/*
 * sound.h
 *		Can all of this value be read?
 */
#ifndef MTS_SOUND_H
#define MTS_SOUND_H

#include "core/element.h"

extern bool mts_element_is_whole(const MtsElement *element, int depth);
extern bool mts_element_is_sound(const MtsElement *element, int depth);

#endif /* MTS_SOUND_H */
