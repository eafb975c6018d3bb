#pragma once

/* Copy TEXT to OUT with single spaces between its words. */
void squeeze(char *out, const char *text);

/* Write TEXT backwards to OUT. */
void backwards(char *out, const char *text);
