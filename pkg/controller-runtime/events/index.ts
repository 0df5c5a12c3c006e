/** Writes Events, which `kubectl describe` shows, as client-go's event recorder does. */
export {
  type EventType,
  type InvolvedObject,
  type EventRecorder,
  type EventWriterOptions,
  EventWriter,
} from './events.ts';
