/*
 * zip.c
 *		Join the points of several containers of a bucket by their slots.
 *
 * The points of each container are collected and sorted by slot.  Then those
 * of the least slot make the next point.  The memory is reused from bucket to
 * bucket.
 */
#include "core/bucket/zip.h"

#include <stdlib.h>
#include <string.h>

/* A point of one container */
typedef struct Item
{
	MtsTime time;
	MtsElement element;
	MtsSlotKey slots[MTS_MAX_SLOTS]; /* unused ones are zero */
} Item;

struct MtsZipList
{
	Item *items;
	size_t n;
	size_t room;
	size_t next;
};

/*
 * mts_zip_init
 *		Prepare to zip the containers of these walks.
 *
 * Allocates room for some points at once: resize may allocate in the current
 * memory context.
 */
void
mts_zip_init(MtsZip *zip, MtsWalk *walks, int n,
			 void *(*resize)(void *memory, size_t size))
{
	zip->n = n;
	zip->walks = walks;
	zip->resize = resize;
	zip->lists = resize(NULL, n * sizeof(struct MtsZipList));
	for (int i = 0; i < n; i++)
	{
		zip->lists[i].room = 64;
		zip->lists[i].items = resize(NULL, zip->lists[i].room * sizeof(Item));
	}
}

/* mts_zip_free: release the memory of mts_zip_init. */
void
mts_zip_free(MtsZip *zip, void (*release)(void *memory))
{
	for (int i = 0; i < zip->n; i++)
		release(zip->lists[i].items);
	release(zip->lists);
}

/* mts_zip_start: begin with a bucket whose walks have been started. */
void
mts_zip_start(MtsZip *zip)
{
	zip->collecting = 0;
	for (int i = 0; i < zip->n; i++)
		zip->lists[i].n = zip->lists[i].next = 0;
}

/* Order slots level by level: by index or, in a {column} slot, by text. */
static int
compare_slots(const MtsSlotKey *a, const MtsSlotKey *b)
{
	for (int i = 0; i < MTS_MAX_SLOTS; i++)
	{
		if (a[i].index != b[i].index)
			return a[i].index < b[i].index ? -1 : 1;
		if (a[i].text)
		{
			int order = strcmp(a[i].text, b[i].text);

			if (order != 0)
				return order;
		}
	}
	return 0;
}

static int
compare_items(const void *a, const void *b)
{
	return compare_slots(((const Item *) a)->slots, ((const Item *) b)->slots);
}

static Item *
add_item(MtsZip *zip, struct MtsZipList *list)
{
	Item *item;

	if (list->n == list->room)
	{
		list->room *= 2;
		list->items = zip->resize(list->items, list->room * sizeof(Item));
	}
	item = &list->items[list->n++];
	memset(item->slots, 0, sizeof(item->slots));
	return item;
}

/*
 * Collect and sort the points of each container.  False at an invalid one; the
 * next call continues after it.
 */
static bool
collect(MtsZip *zip)
{
	MtsElement element;

	for (; zip->collecting < zip->n; zip->collecting++)
	{
		MtsWalk *walk = &zip->walks[zip->collecting];
		struct MtsZipList *list = &zip->lists[zip->collecting];
		bool sorted = true;
		MtsUnfolded result;

		while ((result = mts_walk_next(walk, &element)) == MTS_POINT)
		{
			Item *item = add_item(zip, list);

			item->time = mts_walk_time(walk);
			item->element = element;
			mts_walk_slots(walk, item->slots);
		}
		if (result == MTS_INVALID)
			return false;
		for (size_t i = 1; i < list->n && sorted; i++)
			sorted = compare_items(&list->items[i - 1], &list->items[i]) <= 0;
		if (!sorted)
			qsort(list->items, list->n, sizeof(Item), compare_items);
	}
	return true;
}

static const Item *
next_item(const MtsZip *zip, int container)
{
	const struct MtsZipList *list = &zip->lists[container];

	return list->next < list->n ? &list->items[list->next] : NULL;
}

/*
 * mts_zip_next
 *		Find the next point: the elements that the containers have in the least
 *		slot.
 */
MtsUnfolded
mts_zip_next(MtsZip *zip, MtsPoint *point)
{
	const Item *least = NULL;
	const Item *item;

	if (!collect(zip))
		return MTS_INVALID;
	for (int i = 0; i < zip->n; i++)
	{
		item = next_item(zip, i);
		if (item && (!least || compare_items(item, least) < 0))
			least = item;
	}
	if (!least)
		return MTS_DONE;
	point->time = least->time;
	memcpy(point->slots, least->slots, sizeof(point->slots));
	for (int i = 0; i < zip->n; i++)
	{
		item = next_item(zip, i);
		if (item && compare_slots(item->slots, point->slots) == 0)
		{
			point->elements[i] = item->element;
			zip->lists[i].next++;
		}
		else
			point->elements[i].type = 0;
	}
	return MTS_POINT;
}
