/** Writes Events, which `kubectl describe` shows, as the event recorder of client-go does. */
export {
  type EventType,
  type InvolvedObject,
  type EventRecorder,
  type EventWriterOptions,
  EventWriter,
} from './events.ts';
