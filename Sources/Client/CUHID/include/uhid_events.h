// The events of uhid(4), laid out as the kernel's own header says. A device behind /dev/uhid is made, written and read with them.
#ifndef OSTIARY_UHID_EVENTS_H
#define OSTIARY_UHID_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// The size of each event, and of the buffer that each call here takes.
size_t ostiary_uhid_event_size(void);

// What the kernel says in an event.
typedef enum {
  OSTIARY_UHID_OTHER = 0,
  OSTIARY_UHID_OUTPUT = 1,      // a program wrote a report
  OSTIARY_UHID_GET_REPORT = 2,  // a program wants a report by ioctl; it waits for an answer
  OSTIARY_UHID_SET_REPORT = 3,  // the same for a report that it sets
} ostiary_uhid_kind;

ostiary_uhid_kind ostiary_uhid_event_kind(const uint8_t *event);

// The bytes of the report of an OUTPUT event: copies at most `capacity` of them to `report` and returns how many there are.
size_t ostiary_uhid_output(const uint8_t *event, uint8_t *report, size_t capacity);

// Makes the device: UHID_CREATE2, as a device at USB. `name` and `place` are cut to what fits.
void ostiary_uhid_create(uint8_t *event, const char *name, const char *place, const uint8_t *descriptor,
                         uint16_t descriptor_count);

// A report of the device for all programs that have it open: UHID_INPUT2.
void ostiary_uhid_input(uint8_t *event, const uint8_t *report, uint16_t count);

// Refuses a GET_REPORT or SET_REPORT event, so that its program does not wait for five seconds.
void ostiary_uhid_refuse(uint8_t *answer, const uint8_t *event);

#pragma clang assume_nonnull end

#endif
