#include "uhid_events.h"

#include <errno.h>
#include <linux/input.h>
#include <linux/uhid.h>
#include <string.h>

size_t ostiary_uhid_event_size(void) { return sizeof(struct uhid_event); }

static struct uhid_event read_event(const uint8_t *bytes) {
  struct uhid_event event;
  memcpy(&event, bytes, sizeof event);
  return event;
}

ostiary_uhid_kind ostiary_uhid_event_kind(const uint8_t *bytes) {
  uint32_t type;
  memcpy(&type, bytes, sizeof type);
  switch (type) {
    case UHID_OUTPUT: return OSTIARY_UHID_OUTPUT;
    case UHID_GET_REPORT: return OSTIARY_UHID_GET_REPORT;
    case UHID_SET_REPORT: return OSTIARY_UHID_SET_REPORT;
    default: return OSTIARY_UHID_OTHER;
  }
}

size_t ostiary_uhid_output(const uint8_t *bytes, uint8_t *report, size_t capacity) {
  struct uhid_event event = read_event(bytes);
  size_t count = event.u.output.size;
  if (count > sizeof event.u.output.data) count = sizeof event.u.output.data;
  memcpy(report, event.u.output.data, count < capacity ? count : capacity);
  return count;
}

// The rest of `to` is zero, so the copy ends with a zero.
static void copy_text(uint8_t *to, size_t size, const char *text) {
  size_t count = strlen(text);
  memcpy(to, text, count < size ? count : size - 1);
}

void ostiary_uhid_create(uint8_t *bytes, const char *name, const char *place, const uint8_t *descriptor,
                         uint16_t descriptor_count) {
  struct uhid_event event;
  memset(&event, 0, sizeof event);
  event.type = UHID_CREATE2;
  struct uhid_create2_req *request = &event.u.create2;
  copy_text(request->name, sizeof request->name, name);
  copy_text(request->phys, sizeof request->phys, place);
  // libfido2 lists the devices of this bus alone.
  request->bus = BUS_USB;
  request->rd_size = descriptor_count < sizeof request->rd_data ? descriptor_count : sizeof request->rd_data;
  memcpy(request->rd_data, descriptor, request->rd_size);
  memcpy(bytes, &event, sizeof event);
}

void ostiary_uhid_input(uint8_t *bytes, const uint8_t *report, uint16_t count) {
  struct uhid_event event;
  memset(&event, 0, sizeof event);
  event.type = UHID_INPUT2;
  event.u.input2.size = count < sizeof event.u.input2.data ? count : sizeof event.u.input2.data;
  memcpy(event.u.input2.data, report, event.u.input2.size);
  memcpy(bytes, &event, sizeof event);
}

void ostiary_uhid_refuse(uint8_t *answer, const uint8_t *bytes) {
  struct uhid_event event = read_event(bytes), refusal;
  memset(&refusal, 0, sizeof refusal);
  if (event.type == UHID_GET_REPORT) {
    refusal.type = UHID_GET_REPORT_REPLY;
    refusal.u.get_report_reply.id = event.u.get_report.id;
    refusal.u.get_report_reply.err = EIO;
  } else {
    refusal.type = UHID_SET_REPORT_REPLY;
    refusal.u.set_report_reply.id = event.u.set_report.id;
    refusal.u.set_report_reply.err = EIO;
  }
  memcpy(answer, &refusal, sizeof refusal);
}
